// The rules are written by `python -m runelift.runtime.tools.editors.treesitter`.
module.exports = { grammar: require("./src/grammar.json") };
