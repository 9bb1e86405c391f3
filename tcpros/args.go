package tcpros

// Args is what the ROS arguments of a command line say.
type Args struct {
	Remaps    []Remap // in the order given; the last of one name wins
	Name      string  // __name
	Namespace string  // __ns
	MasterURI string  // __master
	Hostname  string  // __hostname
	IP        string  // __ip
	LogFile   string  // __log
	Port      int     // __tcpros_server_port; zero means any
	Params    []Param // _name:=value
}

// Remap is one from:=to argument, unresolved.
type Remap struct{ From, To string }

// Param is one _name:=value argument: a private parameter to be set at the master.
type Param struct {
	Name  string // without the underscore
	Value any    // int, float64, bool or string, the first that the text fits
}

// ParseArgs takes every argument that contains := out of args.
func ParseArgs(args []string) (rest []string, a Args, err error) { panic("tcpros: not yet") }
