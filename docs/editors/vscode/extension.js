// Starts the language server, `runelift lsp`, for programs (*.fut).
"use strict";

const vscode = require("vscode");

let client;

function activate(context) {
  let languageClient;
  try {
    languageClient = require("vscode-languageclient/node");
  } catch {
    vscode.window.showWarningMessage(
      "Runelift: only highlighting works, as vscode-languageclient is missing: " +
      "run 'npm install' in " + context.extensionPath + ".");
    return;
  }
  const [command, ...args] = vscode.workspace.getConfiguration("runelift").get("command");
  client = new languageClient.LanguageClient(
    "runelift", "Runelift", { command, args },
    { documentSelector: [{ language: "runelift" }] });
  client.start().catch(error => vscode.window.showErrorMessage(
    "Runelift: cannot start '" + [command, ...args].join(" ") + "' (" + error.message + ").  " +
    "Install it with 'pip install .[lsp]' in its sources, or set runelift.command."));
  context.subscriptions.push({ dispose: () => client && client.stop() });
}

function deactivate() {
  return client ? client.stop() : undefined;
}

module.exports = { activate, deactivate };
