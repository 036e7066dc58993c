entry main (xs: []f32) (ys: []f32) = zip xs ys |> map (\x y -> x * y)
