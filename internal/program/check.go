package program

import (
	"errors"

	"github.com/gorosbag/gorosbag/config"
	"github.com/gorosbag/gorosbag/tcpros"
)

// CheckROS adds what is wrong with the options of ROS.
func CheckROS(v *config.ValueErrors, c *config.ROS) {
	v.Check("ros-master-uri", tcpros.CheckMasterURI, c.MasterURI)
	v.Check("ros-hostname", tcpros.CheckHost, c.Hostname)
	v.Check("ros-ip", tcpros.CheckHost, c.IP)
	v.Check("ros-namespace", func(namespace string) error { return CheckName("/" + namespace) }, c.Namespace)
}

// CheckName returns why a text is no name of a topic or node, without the text itself.
func CheckName(name string) error {
	var bad *tcpros.NameError
	if err := tcpros.CheckName(name); errors.As(err, &bad) {
		return errors.New(bad.Reason)
	}
	return nil
}
