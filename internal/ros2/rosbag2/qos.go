package rosbag2

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"
)

// Profile is the quality of service that a publisher offered. The numbers are those of ROS 2's
// rmw/types.h.
type Profile struct {
	History     History
	Depth       uint64
	Reliability Reliability
	Durability  Durability
	Deadline    Span
	Lifespan    Span
	Liveliness  Liveliness
	Lease       Span // of the liveliness
	// AvoidROSNames: the topic's name has no ROS prefix in DDS.
	AvoidROSNames bool
}

// Span is a duration of a profile. Zero means unspecified; middlewares have several values for
// infinity, which stay as they are.
type Span struct{ Sec, Nsec uint64 }

// History says which messages a publisher keeps.
type History uint8

// Values of History.
const (
	HistoryDefault History = iota
	KeepLast
	KeepAll
	HistoryUnknown
)

// Reliability says whether a message that got lost is sent again.
type Reliability uint8

// Values of Reliability.
const (
	ReliabilityDefault Reliability = iota
	Reliable
	BestEffort
	ReliabilityUnknown
	BestAvailableReliability
)

// Durability says whether late subscribers get earlier messages.
type Durability uint8

// Values of Durability. TransientLocal is what ROS 1 calls latching.
const (
	DurabilityDefault Durability = iota
	TransientLocal
	Volatile
	DurabilityUnknown
	BestAvailableDurability
)

// Liveliness says how a publisher shows that it is alive.
type Liveliness uint8

// Values of Liveliness.
const (
	LivelinessDefault Liveliness = iota
	Automatic
	ManualByNode
	ManualByTopic
	LivelinessUnknown
	BestAvailableLiveliness
)

// names are the names of the values in metadata.yaml since version 9. The index is the value.
var (
	historyNames     = []string{"system_default", "keep_last", "keep_all", "unknown"}
	reliabilityNames = []string{"system_default", "reliable", "best_effort", "unknown", "best_available"}
	durabilityNames  = []string{"system_default", "transient_local", "volatile", "unknown", "best_available"}
	livelinessNames  = []string{
		"system_default", "automatic", "manual_by_node", "manual_by_topic", "unknown",
		"best_available",
	}
)

// MaxQoSBytes bounds the text of the profiles of a topic: a profile has about 300 bytes, and a
// topic has one for each publisher.
const MaxQoSBytes = 256 << 10

// ParseQoS parses the text of profiles, with numbers (until version 8 of metadata.yaml) or names
// (since version 9). An empty text has no profiles.
func ParseQoS(text string) ([]Profile, error) {
	if len(text) > MaxQoSBytes {
		return nil, fmt.Errorf("QoS profiles of %d bytes; at most %d are read", len(text), MaxQoSBytes)
	}
	n, err := parseYAML([]byte(text))
	if err != nil || n == nil {
		return nil, err
	}
	return profiles(n)
}

// profiles reads a sequence of profiles.
func profiles(n *yaml.Node) ([]Profile, error) {
	if isNull(n) {
		return nil, nil
	}
	if n.Kind != yaml.SequenceNode {
		return nil, at(n, "QoS profiles are not a list")
	}
	var all []Profile
	for _, c := range n.Content {
		p, err := profile(c)
		if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	return all, nil
}

func profile(n *yaml.Node) (Profile, error) {
	m, err := mapping(n, "a QoS profile")
	if err != nil {
		return Profile{}, err
	}
	p := Profile{
		History:       History(m.name("history", historyNames)),
		Depth:         m.uint("depth"),
		Reliability:   Reliability(m.name("reliability", reliabilityNames)),
		Durability:    Durability(m.name("durability", durabilityNames)),
		Deadline:      m.span("deadline"),
		Lifespan:      m.span("lifespan"),
		Liveliness:    Liveliness(m.name("liveliness", livelinessNames)),
		Lease:         m.span("liveliness_lease_duration"),
		AvoidROSNames: m.bool("avoid_ros_namespace_conventions"),
	}
	return p, m.err
}

// FormatQoS returns the text of profiles with numbers, which every release of ROS 2 reads. It has
// no line end at its end; no profiles are an empty text.
func FormatQoS(all []Profile) string {
	var b strings.Builder
	for i := range all {
		p := &all[i]
		if i > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "- history: %d\n  depth: %d\n  reliability: %d\n  durability: %d\n", p.History,
			p.Depth, p.Reliability, p.Durability)
		fmt.Fprintf(&b, "  deadline:\n    sec: %d\n    nsec: %d\n", p.Deadline.Sec, p.Deadline.Nsec)
		fmt.Fprintf(&b, "  lifespan:\n    sec: %d\n    nsec: %d\n", p.Lifespan.Sec, p.Lifespan.Nsec)
		fmt.Fprintf(&b, "  liveliness: %d\n", p.Liveliness)
		fmt.Fprintf(&b, "  liveliness_lease_duration:\n    sec: %d\n    nsec: %d\n", p.Lease.Sec,
			p.Lease.Nsec)
		fmt.Fprintf(&b, "  avoid_ros_namespace_conventions: %t", p.AvoidROSNames)
	}
	return b.String()
}

// Latched reports whether one of the profiles hands earlier messages to late subscribers.
func Latched(all []Profile) bool {
	return slices.ContainsFunc(all, func(p Profile) bool { return p.Durability == TransientLocal })
}

// name returns the value of a key that is a number or a name; missing keys are 0, the default of
// the system.
func (m *yamlMap) name(key string, names []string) uint8 {
	n := m.get(key)
	if n == nil || m.err != nil {
		return 0
	}
	if v, err := strconv.ParseUint(n.Value, 10, 8); err == nil && n.Kind == yaml.ScalarNode &&
		int(v) < len(names) {
		return uint8(v)
	}
	i := slices.Index(names, n.Value)
	if i < 0 || n.Kind != yaml.ScalarNode {
		m.fail(at(n, "%s is %s; want one of %s, or a number from 0 to %d", key, shown(n),
			strings.Join(names, ", "), len(names)-1))
		return 0
	}
	return uint8(i)
}

// span returns the duration below a key.
func (m *yamlMap) span(key string) Span {
	n := m.get(key)
	if n == nil || m.err != nil {
		return Span{}
	}
	s, err := mapping(n, key)
	if err != nil {
		m.fail(err)
		return Span{}
	}
	span := Span{Sec: s.uint("sec"), Nsec: s.uint("nsec")}
	m.fail(s.err)
	return span
}

// errNotYAML is the start of what ParseQoS and ParseMetadata say about a text.
var errNotYAML = errors.New("not valid YAML")
