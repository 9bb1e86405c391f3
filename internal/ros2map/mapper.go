package ros2map

import "fmt"

// Mapper maps types for one distribution. It remembers the names that it gave, so that
// two types never get the same name. One goroutine at a time may use it; the conversions
// that it returns never change and may be used by many.
type Mapper struct {
	distro  Distro
	options Options
}

// New returns a mapper for a distribution. An error names the option that is wrong.
func New(d Distro, o Options) (*Mapper, error) {
	if _, err := ParseDistro(string(d)); err != nil {
		return nil, err
	}
	return &Mapper{distro: d, options: o}, nil
}

// To2 is the way of one ROS 1 type to ROS 2.
type To2 struct {
	Type   string // as "sensor_msgs/msg/Imu"
	Schema string // the definition, encoding "ros2msg", with those of all types it is made of
	Hash   string // "RIHS01_…", the type description hash
	Notes  []Note
}

// To1 is the way of one ROS 2 type to ROS 1.
type To1 struct {
	Type       string // as "sensor_msgs/Imu"
	MD5Sum     string
	Definition string // with those of all types it is made of
	Notes      []Note
}

// To2 returns how messages of a ROS 1 type are converted to ROS 2. Errors match [ErrType]
// or are a rosmsg.DefinitionError.
//
// Two definitions of one ROS 1 type may yield the same Type with different hashes. A bag of
// ROS 2 can hold only one of them.
func (m *Mapper) To2(type1, _ string) (*To2, error) {
	return nil, fmt.Errorf("%s: %w", type1, ErrType)
}

// To1 returns how messages of a ROS 2 type are converted to ROS 1. The schema is text of
// encoding "ros2msg". Errors match [ErrType] or are a ros2msg.DefinitionError.
func (m *Mapper) To1(type2, _ string) (*To1, error) {
	return nil, fmt.Errorf("%s: %w", type2, ErrType)
}

// Schema returns the definition of a type that ships with the mapper's distribution, for
// bags without definitions.
func (m *Mapper) Schema(_ string) (schema string, ok bool) { return "", false }

// Definition returns the noetic definition of a type that ships with ROS 1, for bags
// without definitions.
func (m *Mapper) Definition(_ string) (definition, md5sum string, ok bool) { return "", "", false }

// Append appends a ROS 1 payload as CDR, with its encapsulation header, and returns the
// extended slice. It adds to n what had to change; n may be nil. On an error, which
// matches [ErrCorrupt], it returns dst as it was. It allocates nothing but what dst needs.
func (c *To2) Append(dst, _ []byte, _ *Counts) ([]byte, error) {
	return dst, fmt.Errorf("%s: %w", c.Type, ErrCorrupt)
}

// Append appends a CDR message, which starts with its encapsulation header, as ROS 1
// payload and returns the extended slice. It adds to n what had to change; n may be nil.
// On an error, which matches [ErrCorrupt], it returns dst as it was. It allocates nothing
// but what dst needs.
func (c *To1) Append(dst, _ []byte, _ *Counts) ([]byte, error) {
	return dst, fmt.Errorf("%s: %w", c.Type, ErrCorrupt)
}
