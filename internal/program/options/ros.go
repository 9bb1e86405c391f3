package options

import (
	"errors"
	"net/netip"
	"os"

	"github.com/gorosbag/gorosbag/config"
	"github.com/gorosbag/gorosbag/tcpros"
)

// defaultMasterAddress is where an embedded master listens unless told otherwise.
const defaultMasterAddress = "127.0.0.1:11311"

// ROS is what the options of the node set. The variables of ROS are options, too, so that one file can hold
// all that a service needs.
type ROS struct {
	EmbeddedMaster string // the address of a master inside the program; empty means none
	Bind           string // the address of this machine to listen on; empty if none was given

	MasterURI, Hostname, IP, Namespace string

	NoRosout            bool
	AllowRemoteShutdown bool
}

// Getenv returns a variable of ROS as the options have it.
func (r *ROS) Getenv(name string) string {
	return map[string]string{
		"ROS_MASTER_URI": r.MasterURI, "ROS_HOSTNAME": r.Hostname, "ROS_IP": r.IP,
		"ROS_NAMESPACE": r.Namespace,
	}[name]
}

// Group returns the options.
func (r *ROS) Group() config.Group {
	rules := func() []config.Rule {
		_, err := netip.ParseAddr(r.IP)
		return []config.Rule{{
			// With the variable, rosbag and other nodes accept a name, and many shells have ROS_IP=localhost.
			Bad: r.IP != "" && err != nil && r.IP != os.Getenv("ROS_IP"), Options: []string{"ros-ip"},
			Value:  r.IP,
			Reason: "not an IP address: write --ros-hostname=" + r.IP + " for a name",
		}}
	}
	return config.Group{Title: "ROS", Rules: rules, Options: []config.Option{
		{Name: "embedded-master", Arg: "HOST:PORT", Value: config.Address(&r.EmbeddedMaster, defaultMasterAddress, false), Help: `
			Run a ROS master inside this program (default address ` + defaultMasterAddress + `).`},
		{Name: "bind", Arg: "ADDR", Value: config.To(&r.Bind, readIP), Help: `
			Listen on this address of this machine for the master, subscribers and service clients; 0.0.0.0 means all addresses. Unless ROS_IP or
			ROS_HOSTNAME is set, the address is advertised, too (default: the address that ROS_IP or ROS_HOSTNAME names, or all addresses if this
			machine does not have that one; without these variables loopback if the master is on loopback, else the address of the host name).`},
		{Name: "ros-master-uri", Env: "ROS_MASTER_URI", Arg: "URI", Value: config.Text(&r.MasterURI, UnlessEmpty(tcpros.CheckMasterURI)), Help: `
			Where the ROS master is (default http://localhost:11311). The argument __master:= takes precedence.`},
		{Name: "ros-hostname", Env: "ROS_HOSTNAME", Arg: "HOST", Value: config.Text(&r.Hostname, UnlessEmpty(tcpros.CheckHost)), Help: `
			The name of this machine as other nodes reach it. The argument __hostname:= takes precedence.`},
		{Name: "ros-ip", Env: "ROS_IP", Arg: "ADDR", Value: config.Text(&r.IP, UnlessEmpty(tcpros.CheckHost)), Help: `
			The address of this machine as other nodes reach it. ROS_HOSTNAME and the argument __ip:= take precedence.`},
		{Name: "ros-namespace", Env: "ROS_NAMESPACE", Arg: "NAMESPACE", Value: config.Text(&r.Namespace, UnlessEmpty(checkNamespace)), Help: `
			The namespace of the node and of its relative names. The argument __ns:= takes precedence.`},
		{Name: "no-rosout", Value: config.Switch(&r.NoRosout), Help: `
			Do not publish lines of the log of level info and above on the topic /rosout, where rqt_console and others read the logs of all nodes.`},
		{Name: "allow-remote-shutdown", Default: "true", Value: config.Switch(&r.AllowRemoteShutdown), Help: `
			End when another node or the master asks for it, as rosnode kill and roslaunch do (default ${default}). With =false such calls are refused
			and logged with the address that they came from: for programs that a service manager starts and stops.`},
	}}
}

// readIP reads an address of this machine, without a port.
func readIP(text string) (string, error) {
	a, err := netip.ParseAddr(text)
	if err != nil {
		return "", errors.New("want an IP address such as 10.0.0.5 or 0.0.0.0")
	}
	return a.String(), nil
}

func checkNamespace(namespace string) error { return CheckName("/" + namespace) }

// CheckName returns why a text is no name of a topic or node, without the text itself.
func CheckName(name string) error {
	var bad *tcpros.NameError
	if err := tcpros.CheckName(name); errors.As(err, &bad) {
		return errors.New(bad.Reason)
	}
	return nil
}

// UnlessEmpty returns a check that accepts an empty text, which means that the option is not set.
func UnlessEmpty(check func(string) error) func(string) error {
	return func(text string) error {
		if text == "" {
			return nil
		}
		return check(text)
	}
}
