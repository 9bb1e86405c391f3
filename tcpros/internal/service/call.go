package service

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"

	"github.com/gorosbag/gorosbag/internal/ros/fields"
	"github.com/gorosbag/gorosbag/tcpros/internal/endpoint"
	"github.com/gorosbag/gorosbag/tcpros/internal/names"
	"github.com/gorosbag/gorosbag/tcpros/internal/wire"
)

// Call calls a service by its resolved name, as Node.CallService does.
func (e *Env) Call(ctx context.Context, name string, t Type, request []byte) ([]byte, error) {
	response, err := e.call(ctx, name, t, request)
	if err == nil {
		return response, nil
	}
	if ctx.Err() != nil {
		err = ctx.Err() // the end of ctx has closed the connection
	}
	refusal := (*Error)(nil)
	if errors.As(err, &refusal) {
		refusal.Service = name
		return nil, refusal
	}
	return nil, &callServiceError{name, err}
}

func (e *Env) call(ctx context.Context, name string, t Type, request []byte) ([]byte, error) {
	uri, err := e.Master.LookupService(ctx, name)
	if err != nil {
		return nil, err
	}
	hostport, err := endpoint.SplitServiceURI(uri)
	if err != nil {
		return nil, err
	}
	conn, err := e.Dialer.DialContext(ctx, "tcp", hostport)
	if err != nil {
		return nil, err
	}
	defer conn.Close() //nolint:errcheck // all has been read
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	endpoint.SetKeepAlive(conn, e.KeepAlive())
	if err := e.greet(conn, name, t); err != nil {
		return nil, err
	}
	if err := conn.SetDeadline(time.Now().Add(wire.StallAfter)); err != nil {
		return nil, err
	}
	if _, err := conn.Write(frameOf(request)); err != nil {
		return nil, err
	}
	if err := conn.SetDeadline(time.Time{}); err != nil {
		return nil, err
	}
	return awaitReply(conn)
}

// greet exchanges headers.
func (e *Env) greet(conn net.Conn, name string, t Type) error {
	if err := conn.SetDeadline(time.Now().Add(wire.HandshakeTimeout)); err != nil {
		return err
	}
	hello := wire.Header{
		{Key: "callerid", Value: e.CallerID},
		{Key: "md5sum", Value: orAny(t.MD5Sum)},
		{Key: "service", Value: name},
	}
	if t.Type != "" {
		hello = append(hello, fields.Field{Key: "type", Value: t.Type})
	}
	if _, err := conn.Write(wire.AppendHeader(nil, hello)); err != nil {
		return err
	}
	read := e.Pending.Begin(conn, "service "+name)
	defer read.End()
	h, err := read.Header()
	if err != nil {
		if errors.Is(err, io.EOF) {
			err = &wire.HeaderError{Reason: "the service closed the connection instead", Err: err}
		}
		return err
	}
	if text, ok := h.Get("error"); ok {
		return &wire.PeerError{Text: names.Clip(text)}
	}
	return nil
}

// awaitReply reads the reply: without a timeout for the first byte, with a timeout for all other
// bytes.
func awaitReply(conn net.Conn) ([]byte, error) {
	var first [1]byte
	if _, err := io.ReadFull(conn, first[:]); err != nil {
		if errors.Is(err, io.EOF) {
			err = fmt.Errorf("the service closed the connection without a reply: %w", err)
		}
		return nil, err
	}
	return readReply(io.MultiReader(strings.NewReader(string(first[:])), &wire.StallReader{Conn: conn}),
		wire.DefaultMaxMessage)
}

func orAny(md5 string) string {
	if md5 == "" {
		return wire.AnyMD5
	}
	return md5
}
