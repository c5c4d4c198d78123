package compat

// leftOut are the peers that cannot be built, and why. They are rows of the table.
var leftOut = map[string]string{}
