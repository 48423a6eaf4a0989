"""Every surface that judges an agent, one function each: a compiled contract and a run in, an `Outcome` out."""
