package tcpros

import (
	"context"
	"fmt"
	"os"
)

// Describe explains, line by line, what NewNode would do with o, without starting anything:
// the master, the node's name and advertised address, and how names resolve.
func Describe(ctx context.Context, o NodeOptions) ([]string, error) {
	getenv := o.Getenv
	if getenv == nil {
		getenv = os.Getenv
	}
	lookup := o.LookupHost
	if lookup == nil {
		lookup = systemLookup
	}
	uri, hostport, err := masterURI(o, getenv)
	if err != nil {
		return nil, err
	}
	anonymous := ""
	if o.Anonymous && o.Args.Name == "" {
		anonymous = "0"
	}
	names, err := newNames(o.BaseName, anonymous, getenv("ROS_NAMESPACE"), o.Args)
	if err != nil {
		return nil, err
	}
	at := newLocator(&dialer{lookup: lookup}, getenv).find(ctx, o, hostport)
	if err := checkHost(at.host); err != nil {
		return nil, err
	}
	lines := []string{"ROS master: " + uri}
	if anonymous != "" {
		lines = append(lines, "Node: "+names.node+", with the time in place of 0")
	} else {
		lines = append(lines, "Node: "+names.node)
	}
	bind := at.bind
	if bind == "" {
		bind = "all addresses"
	}
	lines = append(lines, fmt.Sprintf("Known to others as: %s, listening on %s (%s)", at.host, bind, at.reason))
	for _, name := range []string{"imu", "~imu"} {
		full, err := names.resolve(name)
		if err != nil {
			return nil, err
		}
		lines = append(lines, fmt.Sprintf("The name %s means: %s", name, full))
	}
	for _, r := range o.Args.Remaps {
		full, err := names.resolve(r.From)
		if err != nil {
			return nil, err
		}
		lines = append(lines, fmt.Sprintf("The name %s means: %s", r.From, full))
	}
	return lines, nil
}
