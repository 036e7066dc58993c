[
  (val_dec) (type_dec) (mod_dec) (sig_dec) (let_fun) (lambda_exp) (if_exp) (loop) (match_exp)
  (record) (array) (type_record)
] @fold
