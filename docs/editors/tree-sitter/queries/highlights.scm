; Words, signs and literals

["def" "entry" "let" "type" "val" "in" "with" "local"] @keyword
(lifted_type) @keyword
["module" "import" "open" "include"] @keyword.import
["if" "then" "else" "match" "case"] @keyword.conditional
["loop" "for" "while" "do"] @keyword.repeat
["true" "false"] @boolean
[(integer) (float)] @number
(char) @character
(string) @string
[(operator) (qualified_operator) (backtick) (range_operator) "-" "!" "=" "->" ".." ":>" "\\"] @operator
["(" ")" "[" "]" "{" "}" "#[" ".[" ".("] @punctuation.bracket
["," ":" "::" "."] @punctuation.delimiter
[(hole) (pat_wild)] @variable.builtin
(constructor) @constructor
(attr_form (identifier) @attribute)

; Names by what they stand for

(val_dec (dec_name (identifier) @function))
(val_dec (identifier) @variable.parameter (op))
(pat_var (identifier) @variable.parameter)
(val_spec (spec_name (identifier) @function))
(let_fun . "let" . (identifier) @function)
(app . (identifier) @function.call)
(app_lambda . (identifier) @function.call)
(pat_name (identifier) @variable.parameter)
[(size_param (identifier) @variable.parameter) (let_size (identifier) @variable.parameter)]
(type_size (identifier) @variable.parameter)
(named_domain (identifier) @variable.parameter)
(type_variable) @type
(type_name (qual_name) @type)
(type_app (qual_name) @type)
(type_dec (identifier) @type)
(type_spec (identifier) @type)
[(sig_dec (identifier) @type) (sig_name (qual_name) @type)]
[(mod_dec (identifier) @module) (mod_spec (identifier) @module) (mod_name (qual_name) @module)]
[(mod_param (identifier) @module) (sig_param (identifier) @module)]
[(project (member) @variable.member) (section_path (member) @variable.member)]
[(update (member) @variable.member) (let_with (member) @variable.member)]
[(field . (identifier) @variable.member) (type_field (identifier) @variable.member)]
[(pat_field . (identifier) @variable.member) (typed_field . (identifier) @variable.member)]

(comment) @comment
((comment) @comment.documentation (#match? @comment.documentation "^-- [|]"))
