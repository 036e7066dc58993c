// The rules are written by `python -m tests.runtime.tools.editors.treesitter`.
module.exports = { grammar: require("./src/grammar.json") };
