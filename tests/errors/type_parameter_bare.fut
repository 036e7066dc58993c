type option a = #none | #some a
type pair 'a b = (a, b)
type rows [n] a = [n]a
