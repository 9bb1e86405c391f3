package program

import (
	"errors"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/config"
	"github.com/gorosbag/gorosbag/internal/loglimit"
	"github.com/gorosbag/gorosbag/internal/topicmatch"
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

// WarnGlobLike warns of those regular expressions of an option that are meant to be globs.
func WarnGlobLike(log *zap.Logger, option string, exprs []string) {
	for _, expr := range exprs {
		if text := topicmatch.GlobLike(option, expr); text != "" {
			log.Warn(text, loglimit.Each())
		}
	}
}
