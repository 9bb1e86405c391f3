package xmlrpc_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/gorosbag/gorosbag/internal/ros/xmlrpc"
)

// same compares values as the wire does: NaN equals NaN.
var same = cmpopts.EquateNaNs()

func seeds(f *testing.F) {
	f.Helper()
	req, err := xmlrpc.AppendRequest(nil, "m", sample(), 1, "x")
	if err != nil {
		f.Fatal(err)
	}
	resp, err := xmlrpc.AppendResponse(nil, sample())
	if err != nil {
		f.Fatal(err)
	}
	for _, s := range [][]byte{
		req, resp, xmlrpc.AppendFault(nil, &xmlrpc.Fault{Code: 1, Text: "t"}),
		response("<value/>"), response(nested(17, "")), response("<value>a<!-- x --><![CDATA[<]]>&#x41;</value>"),
		response("<value><double>nan</double></value>"), response("<value><nil/></value>"),
		[]byte("<!DOCTYPE a><methodCall><methodName>a</methodName></methodCall>"),
	} {
		f.Add(s)
	}
}

func checkError(t *testing.T, err error) {
	t.Helper()
	var fault *xmlrpc.Fault
	if !errors.Is(err, xmlrpc.ErrMalformed) && !errors.Is(err, xmlrpc.ErrLimit) && !errors.As(err, &fault) {
		t.Fatalf("untyped error %v", err)
	}
}

// hasNil reports whether v contains a nil, which is read but not written.
func hasNil(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case []any:
		for _, e := range v {
			if hasNil(e) {
				return true
			}
		}
	case map[string]any:
		for _, e := range v {
			if hasNil(e) {
				return true
			}
		}
	}
	return false
}

// A value that was read can be written, is equal when read again, and costs no more memory than its
// size allows.
func FuzzXMLRPCRequest(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, in []byte) {
		var method string
		var args []any
		var err error
		if spent := allocated(func() { method, args, err = xmlrpc.ParseRequest(in, xmlrpc.Limits{}) }); spent > memoryBound(len(in)) {
			t.Fatalf("%d bytes for an input of %d", spent, len(in))
		}
		if err != nil {
			checkError(t, err)
			return
		}
		for _, a := range args {
			if hasNil(a) {
				return
			}
		}
		b, err := xmlrpc.AppendRequest(nil, method, args...)
		if err != nil {
			t.Fatal(err)
		}
		method2, args2, err := xmlrpc.ParseRequest(b, xmlrpc.Limits{BodyBytes: int64(len(b))})
		if err != nil {
			t.Fatalf("%v in %q", err, b)
		}
		if d := cmp.Diff(args, args2, same); d != "" || method != method2 {
			t.Fatalf("%q became %q: %s", method, method2, d)
		}
	})
}

func FuzzXMLRPCResponse(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, in []byte) {
		var v any
		var err error
		if spent := allocated(func() { v, err = xmlrpc.ParseResponse(in, xmlrpc.Limits{}) }); spent > memoryBound(len(in)) {
			t.Fatalf("%d bytes for an input of %d", spent, len(in))
		}
		var fault *xmlrpc.Fault
		switch {
		case errors.As(err, &fault):
			_, again := xmlrpc.ParseResponse(xmlrpc.AppendFault(nil, fault), xmlrpc.Limits{})
			if d := cmp.Diff(err, again); d != "" {
				t.Fatal(d)
			}
			return
		case err != nil:
			checkError(t, err)
			return
		case hasNil(v):
			return
		}
		b, err := xmlrpc.AppendResponse(nil, v)
		if err != nil {
			t.Fatal(err)
		}
		again, err := xmlrpc.ParseResponse(b, xmlrpc.Limits{BodyBytes: int64(len(b))})
		if err != nil {
			t.Fatalf("%v in %q", err, b)
		}
		if d := cmp.Diff(v, again, same); d != "" {
			t.Fatal(d)
		}
	})
}
