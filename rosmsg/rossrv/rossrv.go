// Package rossrv reads the definitions of ROS 1 services, so that calls can be encoded and decoded
// without generated code.
//
// A definition is the text of a .srv file: the fields of the request, a line "---", the fields of the
// response. The types that both are made of follow as in the definitions of messages: a line of 80 "=", a
// line "MSG: pkg/Type", its fields. Those that ship with ROS 1 noetic may be missing. What rossrv show
// prints without -r is no definition: it has the fields of types within, indented, among those of the
// service.
package rossrv

import (
	"crypto/md5" //nolint:gosec // ROS identifies types by md5
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/gorosbag/gorosbag/rosmsg"
	"github.com/gorosbag/gorosbag/rosmsg/noetic"
)

// Service is the type of a service.
type Service struct {
	Name              string // as "std_srvs/SetBool"
	MD5Sum            string // of both parts, as ROS computes it
	Request, Response *rosmsg.Type
}

// ErrNoResponse means that a definition has no line "---".
var ErrNoResponse = errors.New(`no line "---" between request and response`)

var (
	between = regexp.MustCompile(`(?m)^---[ \t\r]*$`)
	parts   = regexp.MustCompile(`(?m)^={80}[ \t\r]*$`)
)

// Parse makes a service of its name and its definition. Errors match [ErrNoResponse] or
// [rosmsg.ErrDefinition].
func Parse(name, definition string) (*Service, error) {
	own, rest := definition, ""
	if at := parts.FindStringIndex(definition); at != nil {
		own, rest = definition[:at[0]], "\n"+definition[at[0]:]
	}
	line := between.FindStringIndex(own)
	if line == nil {
		return nil, fmt.Errorf("service %.100q: %w", name, ErrNoResponse)
	}
	s := &Service{Name: name}
	var err error
	if s.Request, err = rosmsg.ParseWith(name+"Request", own[:line[0]]+rest, noetic.Text); err != nil {
		return nil, err
	}
	if s.Response, err = rosmsg.ParseWith(name+"Response", own[line[1]:]+rest, noetic.Text); err != nil {
		return nil, err
	}
	sum := md5.Sum([]byte(checked(s.Request) + checked(s.Response))) //nolint:gosec // see above
	s.MD5Sum = hex.EncodeToString(sum[:])
	return s, nil
}

// checked returns what the md5sum of a message covers: constants first, then the fields, with the md5sum
// instead of the name of a message type.
func checked(t *rosmsg.Type) string {
	sums := make(map[string]string)
	for _, d := range t.Dependencies() {
		sums[d.Name()] = d.MD5Sum()
	}
	var b strings.Builder
	for _, c := range t.Constants() {
		fmt.Fprintf(&b, "%s %s=%s\n", c.Type, c.Name, c.Value)
	}
	for _, f := range t.Fields() {
		base, _, _ := strings.Cut(f.Type, "[")
		if sum, ok := sums[base]; ok {
			f.Type = sum
		}
		fmt.Fprintf(&b, "%s %s\n", f.Type, f.Name)
	}
	return strings.TrimSpace(b.String())
}
