// Package live is the contract between a source of messages, which is a recording or a playback, and
// a server that shows them to viewers. It owns the frames that viewers have not received yet.
//
// A recording or a playback fills a Store: it opens a Feed for each channel and puts messages into
// the feed. A server describes the Source to its viewers, attaches a Viewer to the store for each
// viewer, and takes frames from it. Source and server never wait for each other: memory is bounded,
// and a viewer that is too slow skips messages, which are counted for this viewer and are not losses
// of a recording.
//
// The package does no I/O, starts no goroutine and writes no log.
//
// Decisions: ADR 0111.
package live

import "context"

// Source is what viewers can see. Graph and Playback are nil if the program has none.
type Source struct {
	Store *Store
	// Info describes the source. The server calls it for each viewer, and after each change of
	// the store.
	Info func() Info
	// Graph returns the connections between nodes. The server calls it at intervals while a
	// viewer wants the graph.
	Graph    func(ctx context.Context) (Graph, error)
	Playback Playback
}

// Info describes a source.
type Info struct {
	Name    string // shown by viewers, such as "gorecord /recorder"
	Session string // differs for each recording or playback: viewers then discard their messages
	Clock   bool   // viewers must follow the times, which are those of playback or of a simulated clock
}

// Graph is the connections between nodes: the nodes of each topic and of each service.
type Graph struct {
	Publishers  map[string][]string
	Subscribers map[string][]string
	Services    map[string][]string
}
