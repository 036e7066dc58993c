type sale = {price: f64, count: i64}

def worth (r: sale): f64 = r$price * f64.i64 r.count
