// Package live is the contract between what has messages, which is a recording or a playback, and
// what shows them to viewers. It owns the frames that viewers have not received yet.
//
// A recording or a playback fills a Store: it opens a Feed for each channel and puts messages into
// the feed. A server describes the Source to its viewers, attaches a Viewer to the store for each of
// them, and takes frames from it. Neither waits for the other: memory is bounded, and a viewer that
// is too slow skips messages, which are counted for this viewer and are not losses of a recording.
//
// The package does no I/O, starts no goroutine and writes no log.
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
	Session string // another one for each recording or playback: viewers then drop what they have
	Clock   bool   // times are those of a clock that viewers must follow: of playback, or simulated
}

// Graph is the connections between nodes: the nodes of each topic and of each service.
type Graph struct {
	Publishers  map[string][]string
	Subscribers map[string][]string
	Services    map[string][]string
}
