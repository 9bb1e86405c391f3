package tcpros

import "github.com/gorosbag/gorosbag/internal/fields"

// Header is a TCPROS connection header: every field in wire order.
type Header []fields.Field

// Get returns the value of the first field named key.
func (h Header) Get(key string) (value string, ok bool) { return fields.List(h).Get(key) }
