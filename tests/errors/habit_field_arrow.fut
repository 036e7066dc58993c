entry main (p: {a: i32}) = p->a
