// Package mapping says what a ROS 1 message type is in ROS 2 and the other way around,
// and converts payloads between the two.
//
// It owns the tables of the types that ship with ROS, the rules by which other types get
// names that ROS 2 accepts, and the notes about what a conversion loses. The packages
// that copy bags between ROS 1 and ROS 2 call it once for each type, and then once for
// each message. It reads no file, starts no goroutine and logs nothing.
package mapping

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/gorosbag/gorosbag/internal/ros2/cdr"
)

// Distro is a distribution of ROS 2. Types have grown from one to the next, and a
// subscriber can only read messages that have every field of its own definition.
type Distro string

// The distributions, in the order of their release.
const (
	Foxy     Distro = "foxy"
	Galactic Distro = "galactic"
	Humble   Distro = "humble"
	Iron     Distro = "iron"
	Jazzy    Distro = "jazzy"
	Kilted   Distro = "kilted"
	Rolling  Distro = "rolling"
)

var distros = []Distro{Foxy, Galactic, Humble, Iron, Jazzy, Kilted, Rolling}

// Distros returns the distributions in the order of their release.
func Distros() []Distro { return slices.Clone(distros) }

// ParseDistro returns the distribution of a name such as "jazzy".
func ParseDistro(name string) (Distro, error) {
	if d := Distro(name); slices.Contains(distros, d) {
		return d, nil
	}
	var names []string
	for _, d := range distros {
		names = append(names, string(d))
	}
	return "", fmt.Errorf("unknown ROS 2 distribution %q; known are %s", name, strings.Join(names, ", "))
}

// atLeast says whether d is as new as other.
func (d Distro) atLeast(other Distro) bool {
	return slices.Index(distros, d) >= slices.Index(distros, other)
}

var (
	// ErrType is matched by errors about a type that cannot be converted. The messages of
	// other types can.
	ErrType = errors.New("type has no counterpart")
	// ErrCorrupt is matched by errors about a payload that does not fit its type.
	ErrCorrupt = cdr.ErrCorrupt
)

// Counts says what happened to values that the other side cannot represent as they were.
type Counts = cdr.Counts

// Options choose among ways to convert.
type Options struct {
	// Rename maps types of ROS 1 to types of ROS 2, as "livox_ros_driver/CustomMsg" to
	// "livox_ros_driver2/msg/CustomMsg". The fields must be the same.
	Rename map[string]string
	// RefuseLateTimes makes a message with a time after 2038-01-19, which ROS 2 cannot
	// represent, an error. Otherwise such times wrap around, as in ros1_bridge.
	RefuseLateTimes bool
}
