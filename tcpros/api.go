package tcpros

import (
	"github.com/gorosbag/gorosbag/tcpros/internal/endpoint"
	"github.com/gorosbag/gorosbag/tcpros/internal/names"
)

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

// Addresses.
type (
	// LookupHostFunc finds the addresses of a host name.
	LookupHostFunc = endpoint.LookupHostFunc
	// ResolveError says that a host name that a peer advertises has no address here. It matches
	// ErrUnresolved.
	ResolveError = endpoint.ResolveError
)

// CheckMasterURI returns why the URI of a master cannot be used, and what to write instead,
// without the URI itself.
func CheckMasterURI(uri string) error { return endpoint.CheckMasterURI(uri) }

// CheckHost returns why a host cannot be advertised to other nodes, without the host itself.
// Whether its name can be resolved is not asked.
func CheckHost(host string) error { return endpoint.CheckHost(host) }
