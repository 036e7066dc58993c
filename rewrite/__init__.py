"""Programs to programs: simplification, fusion and incremental flattening."""
