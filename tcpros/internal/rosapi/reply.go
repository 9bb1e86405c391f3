package rosapi

import (
	"errors"
	"fmt"
	"hash/maphash"
	"net/url"
	"slices"

	"github.com/gorosbag/gorosbag/internal/ros/xmlrpc"
)

// reply has the options of one call, set before the call, and the facts that its transport found
// out about the reply.
type reply struct {
	answered bool // a valid reply came
	skipped  int  // texts of the reply that were left out because they are too long
	keep     bool // set before: the value is wanted here, and need not be passed on
	value    any
	topic    string // set before: the topic of the call

	body []byte  // set before: memory for the body
	last *uint64 // set before: checksum of an earlier body; the checksum of this body replaces it
	same bool    // both checksums are equal: there is no value
}

// unwrapURLError removes the wrapping of net/http, which repeats method and URL.
func unwrapURLError(err error) error {
	if u := (*url.Error)(nil); errors.As(err, &u) {
		return u.Err
	}
	return err
}

// hasSkipped reports whether a text was left out of a value.
func hasSkipped(v any) bool {
	list, _ := v.([]any)
	_, skipped := v.(xmlrpc.Skipped)
	return skipped || slices.ContainsFunc(list, hasSkipped)
}

// bodySeed is the random seed of the checksums of bodies: no peer can make two bodies with the same
// checksum.
var bodySeed = maphash.MakeSeed()

// parse returns the reply, [1, text, value], or the error that the reply contains.
func (r *reply) parse(l xmlrpc.Limits) ([]any, error) {
	if r.last == nil {
		return checkReply(r.body, l)
	}
	sum := maphash.Bytes(bodySeed, r.body)
	if sum == *r.last {
		r.same = true
		return []any{1, "", 0}, nil
	}
	*r.last = 0
	v, err := checkReply(r.body, l)
	if err == nil {
		*r.last = sum
	}
	return v, err
}

// checkReply returns the reply, [1, text, value], or the error that the reply contains.
func checkReply(body []byte, l xmlrpc.Limits) ([]any, error) {
	v, err := xmlrpc.ParseResponse(body, l)
	if f := (*xmlrpc.Fault)(nil); errors.As(err, &f) {
		return nil, &StatusError{f.Code, f.Text}
	}
	if err != nil {
		return nil, err
	}
	reply, ok := v.([]any)
	if !ok || len(reply) != 3 {
		return nil, fmt.Errorf("answered %T instead of [code, text, value]", v)
	}
	code, ok := reply[0].(int)
	if !ok {
		return nil, fmt.Errorf("answered a status of %T", reply[0])
	}
	text, _ := reply[1].(string)
	if code != 1 {
		return nil, &StatusError{code, text}
	}
	reply[1] = text // of any other type it would not be passed on
	return reply, nil
}
