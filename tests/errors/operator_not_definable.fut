def (||) (x: bool) (y: bool): bool = if x then true else y
