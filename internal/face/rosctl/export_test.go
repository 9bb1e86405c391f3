package rosctl

// Call carries out a command for a service.
var Call = call
