// Package rosmade makes messages of ROS's common packages for tests: types of goroslib become payloads and
// definitions, as publishers send them.
package rosmade

import (
	"bytes"
	"reflect"
	"testing"

	"github.com/aler9/goroslib/pkg/msgproc"
	"github.com/aler9/goroslib/pkg/protocommon"

	"github.com/gorosbag/gorosbag/rosbag"
	"github.com/gorosbag/gorosbag/rosmsg"
)

// Payload returns the payload of a message, a struct of goroslib's packages.
func Payload(tb testing.TB, msg any) []byte {
	tb.Helper()
	v := reflect.ValueOf(msg)
	ptr := reflect.New(v.Type()) // the encoder wants a pointer
	ptr.Elem().Set(v)
	var b bytes.Buffer
	if err := protocommon.MessageEncode(&b, ptr.Interface()); err != nil {
		tb.Fatalf("%T: %v", msg, err)
	}
	return b.Bytes()[4:]
}

// Header returns the connection header of a publisher of such messages, without a topic.
func Header(tb testing.TB, msg any) rosbag.Header {
	tb.Helper()
	typ, err1 := msgproc.Type(msg)
	md5sum, err2 := msgproc.MD5(msg)
	definition, err3 := msgproc.Definition(msg)
	for _, err := range []error{err1, err2, err3} {
		if err != nil {
			tb.Fatalf("%T: %v", msg, err)
		}
	}
	return rosbag.Header{
		{Key: "md5sum", Value: md5sum},
		{Key: "message_definition", Value: definition},
		{Key: "type", Value: typ},
	}
}

// Type returns the type of such messages.
func Type(tb testing.TB, msg any) *rosmsg.Type {
	tb.Helper()
	h := Header(tb, msg)
	t, err := rosmsg.Parse(h.Type(), h.MessageDefinition())
	if err != nil {
		tb.Fatal(err)
	}
	return t
}
