package tcpros

import "github.com/gorosbag/gorosbag/tcpros/internal/names"

// Names and arguments.
type (
	// Args holds the ROS arguments of a command line, as ParseArgs finds them.
	Args = names.Args
	// Remap is one from:=to argument, unresolved.
	Remap = names.Remap
	// Param is one _name:=value argument: a private parameter to set at the master.
	Param = names.Param
	// NameError says why a graph resource name is refused. It matches ErrName.
	NameError = names.NameError
)

// ParseArgs removes every argument that contains := from args, as roscpp does. NewNode checks
// the names, because it knows the namespace.
func ParseArgs(args []string) (rest []string, a Args, err error) { return names.ParseArgs(args) }

// CheckName reports whether name is a valid graph resource name as roscpp defines it: the first
// character is a letter, / or ~, the others are letters, digits, / and _. The empty name is
// valid. The error is a *NameError.
func CheckName(name string) error { return names.CheckName(name) }
