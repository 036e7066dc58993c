[(source_file) (mod_body) (val_dec) (let_fun) (let_pat) (lambda_exp) (loop) (case)] @local.scope

(pat_name (identifier) @local.definition.var)
(pat_var (identifier) @local.definition.parameter)
(size_param (identifier) @local.definition.parameter)
(dec_name (identifier) @local.definition.function)
(let_fun name: (identifier) @local.definition.function)

(identifier) @local.reference
