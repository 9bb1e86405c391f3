// Package definitions chooses the definition by which messages of a type of ROS 2 are read: that of the
// recording, one in a directory of the user, or that of ROS.
//
// It owns the order of these, and what is said of a definition that is not used. Package ros2 calls it
// once for each type, and gives it the first message where two definitions are possible.
package definitions

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/gorosbag/gorosbag/internal/ros2/mapping"
	"github.com/gorosbag/gorosbag/internal/ros2/msg"
)

// Chooser chooses definitions for one recording. One goroutine at a time may use it.
type Chooser struct {
	mapper *mapping.Mapper // of the distribution that recorded
	distro mapping.Distro
	user   User                               // may be nil
	others map[mapping.Distro]*mapping.Mapper // of other distributions
	chosen map[Key]*choice
}

// Key is what a channel says of its type.
type Key struct {
	Name     string // as "std_msgs/msg/String"
	Encoding string // of the schema, as "ros2msg"; empty without one
	Schema   string
}

// choice is how messages of a type are converted, or why they are not.
type choice struct {
	to       *mapping.To1
	replaced string // what is wrong with the definition in the recording, and what is used instead
	err      error
}

// New returns a Chooser for a recording of a distribution. user may be nil.
func New(d mapping.Distro, user User) (*Chooser, error) {
	m, err := mapping.New(d, mapping.Options{})
	return &Chooser{
		mapper: m, distro: d, user: user, others: map[mapping.Distro]*mapping.Mapper{},
		chosen: map[Key]*choice{},
	}, err
}

// Name1 returns the name in ROS 1 of a type.
func (c *Chooser) Name1(type2 string) string { return c.mapper.Name1(type2) }

// schemaROS2 is the encoding of definitions that are text of .msg files.
const schemaROS2 = "ros2msg"

// Choose returns how messages of a type are converted. first returns the first message, nil if there is
// none; it is called if two definitions are possible. The returned text says once that the definition in
// the recording is not used.
func (c *Chooser) Choose(key Key, first func() []byte) (to *mapping.To1, replaced string, err error) {
	if known := c.chosen[key]; known != nil {
		return known.to, "", known.err
	}
	made := c.choose(key, first)
	c.chosen[key] = made
	return made.to, made.replaced, made.err
}

func (c *Chooser) choose(key Key, first func() []byte) *choice {
	own, wrong := c.own(key)
	if errors.Is(wrong, mapping.ErrType) {
		return &choice{err: wrong}
	}
	if own != nil {
		known := c.stock(c.distro, key.Name)
		switch {
		case own.Fieldless() && (known == nil || known.Hash == own.Hash):
			if message := first(); message == nil || fits(own, message) {
				return &choice{to: own}
			}
			wrong = errMissing
		case own.Fieldless(): // a placeholder
			wrong = errors.New("has no fields")
			if strings.TrimSpace(key.Schema) == "" {
				wrong = errors.New("is empty")
			}
		case known == nil || known.Hash == own.Hash:
			return &choice{to: own}
		default:
			message := first()
			if message == nil || fits(own, message) {
				return &choice{to: own}
			}
			wrong = errors.New("does not fit its messages")
		}
	}
	to, from, err := c.instead(key.Name, first)
	switch {
	case err != nil:
		return &choice{err: err}
	case to == nil && own != nil && !errors.Is(wrong, errMissing):
		return &choice{to: own} // each message says what does not fit
	case to == nil && errors.Is(wrong, errMissing):
		return &choice{err: fmt.Errorf("the recording has no definition of %s; %s", key.Name,
			adviceDefinitions)}
	case to == nil:
		return &choice{err: fmt.Errorf("its definition of %s %w; %s", key.Name, wrong, adviceDefinitions)}
	case errors.Is(wrong, errMissing):
		return &choice{to: to}
	}
	return &choice{
		to:       to,
		replaced: fmt.Sprintf("its definition of %s %v: that of %s is used", key.Name, wrong, from),
	}
}

// adviceDefinitions is true of every program, whatever was called.
const adviceDefinitions = "goplay and gobag info, echo, check and convert take a directory that has it as --definitions"

// errMissing means that a recording has no definition of a type.
var errMissing = errors.New("is missing")

// own returns the conversion by the definition in the recording, or what is wrong with that.
func (c *Chooser) own(key Key) (*mapping.To1, error) {
	switch {
	case key.Encoding == "ros2idl" || strings.Contains(key.Schema, "\nIDL: ") ||
		strings.HasPrefix(key.Schema, "IDL: "):
		return nil, errors.New("is IDL, where only the text of .msg files can be read")
	case strings.TrimSpace(key.Schema) == "" && key.Encoding != schemaROS2:
		// with the encoding, it has no fields
		return nil, errMissing
	}
	to, err := c.mapper.To1(key.Name, key.Schema)
	var bad *msg.DefinitionError
	if errors.As(err, &bad) {
		return nil, fmt.Errorf("has errors (line %d: %s)", bad.Line, bad.Reason)
	}
	return to, err
}

// instead returns the conversion by a definition of the user or of ROS, nil if neither has one, and who
// has it. Of several distributions the first fits whose definition fits the first message. err is about
// the definition of the user.
func (c *Chooser) instead(name string, first func() []byte) (to *mapping.To1, from string, err error) {
	if c.user != nil {
		text, ok, err := c.user(name)
		if ok && err == nil {
			to, err = c.mapper.To1(name, text)
		}
		if ok {
			if err != nil {
				err = fmt.Errorf("--definitions: %w", err)
			}
			return to, "--definitions", err
		}
	}
	var message []byte
	var best mapping.Distro
	seen := map[string]bool{}
	for _, d := range append([]mapping.Distro{c.distro}, newestFirst()...) {
		known := c.stock(d, name)
		if known == nil || seen[known.Hash] {
			continue
		}
		if seen[known.Hash] = true; to == nil {
			to, best = known, d
			continue
		}
		if message == nil {
			if message = first(); message == nil || fits(to, message) {
				break
			}
		}
		if fits(known, message) {
			to, best = known, d
			break
		}
	}
	return to, "ROS " + string(best), nil
}

func newestFirst() []mapping.Distro {
	all := mapping.Distros()
	slices.Reverse(all)
	return all
}

// stock returns the conversion of a type that ships with a distribution, or nil.
func (c *Chooser) stock(d mapping.Distro, name string) *mapping.To1 {
	m := c.mapper
	if d != c.distro {
		if m = c.others[d]; m == nil {
			var err error
			if m, err = mapping.New(d, mapping.Options{}); err != nil {
				return nil
			}
			c.others[d] = m
		}
	}
	text, ok := m.Schema(name)
	if !ok {
		return nil
	}
	to, err := c.mapper.To1(name, text)
	if err != nil {
		return nil
	}
	return to
}

// fits reports whether a message can be converted.
func fits(to *mapping.To1, message []byte) bool {
	_, err := to.Append(nil, message, nil)
	return err == nil
}
