package note

// Additions is what Add appends.
var Additions = additions
