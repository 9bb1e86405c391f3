package names

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/gorosbag/gorosbag/internal/ros/xmlrpc"
)

// Args are the ROS arguments of a command line.
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

// Param is one _name:=value argument: a private parameter to set at the master.
type Param struct {
	Name  string // without the underscore
	Value any    // the first of int, float64, bool and string that the text can be parsed as
}

// ParseArgs removes every argument that contains := from args, as roscpp does. NewNode checks
// the names, because it knows the namespace.
func ParseArgs(args []string) (rest []string, a Args, err error) {
	for _, arg := range args {
		from, to, ok := strings.Cut(arg, ":=")
		switch {
		case !ok:
			rest = append(rest, arg)
		case strings.HasPrefix(from, "__"):
			if err := a.special(from, to); err != nil {
				return nil, Args{}, err
			}
		case strings.HasPrefix(from, "_"):
			if err := CheckName("~" + from[1:]); err != nil {
				return nil, Args{}, fmt.Errorf("argument %q: %w", arg, err)
			}
			if from == "_" { // roscpp ignores it
				continue
			}
			v := paramValue(to)
			if _, err := xmlrpc.AppendResponse(nil, v); err != nil {
				return nil, Args{}, fmt.Errorf("argument %q: %w", arg, err)
			}
			a.Params = append(a.Params, Param{from[1:], v})
		default:
			a.Remaps = append(a.Remaps, Remap{from, to})
		}
	}
	return rest, a, nil
}

// special stores a __key:=value argument. Unknown keys are ignored, as in roscpp:
// launch files pass keys of other client libraries.
func (a *Args) special(key, value string) error {
	switch key {
	case "__name":
		a.Name = value
	case "__ns":
		a.Namespace = value
	case "__master":
		a.MasterURI = value
	case "__hostname":
		a.Hostname = value
	case "__ip":
		a.IP = value
	case "__log":
		a.LogFile = value
	case "__tcpros_server_port":
		port, err := strconv.ParseUint(value, 10, 16)
		if err != nil {
			return fmt.Errorf("__tcpros_server_port %q is not a port", value)
		}
		a.Port = int(port)
	}
	return nil
}

// paramValue tries roscpp's types in roscpp's order. XML-RPC integers have 32 bits.
func paramValue(text string) any {
	if i, err := strconv.ParseInt(text, 10, 32); err == nil {
		return int(i)
	}
	if f, err := strconv.ParseFloat(text, 64); err == nil {
		return f
	}
	switch text {
	case "true", "True", "TRUE":
		return true
	case "false", "False", "FALSE":
		return false
	}
	return text
}
