package tcpros

import (
	"context"
	"fmt"

	"github.com/gorosbag/gorosbag/tcpros/internal/endpoint"
	"github.com/gorosbag/gorosbag/tcpros/internal/names"
)

// Resolver returns the function that resolves names as the node would that NewNode starts with o.
// Resolver starts nothing.
func Resolver(o NodeOptions) (resolve func(name string) (string, error), err error) {
	names, err := namesOf(o)
	if err != nil {
		return nil, err
	}
	return names.Resolve, nil
}

// namesOf returns the names of a node that is not started. The name of an anonymous node contains a
// 0 in place of the time.
func namesOf(o NodeOptions) (*names.Resolver, error) {
	anonymous := ""
	if o.Anonymous && o.Args.Name == "" {
		anonymous = "0"
	}
	return names.New(o.BaseName, anonymous, o.env("ROS_NAMESPACE"), o.Args)
}

// Describe explains, line by line, what NewNode would do with o, without starting anything:
// the master, the node's name and advertised address, and how names resolve.
func Describe(ctx context.Context, o NodeOptions) ([]string, error) {
	uri, hostport, err := endpoint.MasterURI(o.MasterURI, o.Args, o.env)
	if err != nil {
		return nil, err
	}
	names, err := namesOf(o)
	if err != nil {
		return nil, err
	}
	at := endpoint.NewLocator(endpoint.NewDialer(o.LookupHost, defaultTiming().resolve), o.env).Find(ctx,
		o.Bind, o.Args, hostport)
	if err := endpoint.CheckAdvertised(at.Host); err != nil {
		return nil, err
	}
	lines := []string{"ROS master: " + uri}
	if o.Anonymous && o.Args.Name == "" {
		lines = append(lines, "Node: "+names.Node+", with the time in place of 0")
	} else {
		lines = append(lines, "Node: "+names.Node)
	}
	bind := at.Bind
	if bind == "" {
		bind = "all addresses"
	}
	lines = append(lines,
		fmt.Sprintf("Known to others as: %s, listening on %s (%s)", at.Host, bind, at.Reason))
	for _, name := range []string{"imu", "~imu"} {
		full, err := names.Resolve(name)
		if err != nil {
			return nil, err
		}
		lines = append(lines, fmt.Sprintf("The name %s means: %s", name, full))
	}
	for _, r := range o.Args.Remaps {
		full, err := names.Resolve(r.From)
		if err != nil {
			return nil, err
		}
		lines = append(lines, fmt.Sprintf("The name %s means: %s", r.From, full))
	}
	return lines, nil
}
