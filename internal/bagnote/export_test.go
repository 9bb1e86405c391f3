package bagnote

// Additions is what Add appends.
var Additions = additions
