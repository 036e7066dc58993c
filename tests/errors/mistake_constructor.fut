type order = #move f32 f32 | #turn f32 | #stop
def one (v: f32): order = #move v
def more (v: f32): order = if v > 0 then #turn v v else #stop
def none (v: f32): order = #turn
def show (o: order): f32 = match o case #move a b -> a + b case #turn a -> a case #stop -> 0
def given (v: f32) = show (#move v)
