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

(val_dec name: (dec_name (identifier) @function))
(val_dec parameter: (identifier) @variable.parameter)
(pat_var (identifier) @variable.parameter)
(val_spec name: (spec_name (identifier) @function))
(let_fun name: (identifier) @function)
(app function: (identifier) @function.call)
(app_lambda function: (identifier) @function.call)
(pat_name (identifier) @variable.parameter)
[(size_param (identifier) @variable.parameter) (let_size (identifier) @variable.parameter)]
(type_size (identifier) @variable.parameter)
(named_domain name: (identifier) @variable.parameter)
(type_variable) @type
(type_name (qual_name) @type)
(type_app name: (qual_name) @type)
(type_dec name: (identifier) @type)
(type_spec name: (identifier) @type)
[(sig_dec name: (identifier) @type) (sig_name (qual_name) @type)]
[(mod_dec name: (identifier) @module) (mod_spec name: (identifier) @module) (mod_name (qual_name) @module)]
[(mod_param name: (identifier) @module) (sig_param name: (identifier) @module)]
[(project member: (member) @variable.member) (section_path (member) @variable.member)]
[(update (member) @variable.member) (let_with (member) @variable.member)]
[(field name: (identifier) @variable.member) (type_field name: (identifier) @variable.member)]
[(pat_field name: (identifier) @variable.member) (typed_field name: (identifier) @variable.member)]

(comment) @comment
((comment) @comment.documentation (#match? @comment.documentation "^-- [|]"))
