package bagfmt

import (
	"io"

	"github.com/gorosbag/gorosbag/bagfmt/internal/table"
	"github.com/gorosbag/gorosbag/rosbag"
)

// ReaderOptions limits what a Reader does. The zero value is ready to use.
type ReaderOptions struct {
	// largest compressed chunk, stored or unpacked; zero means 512 MiB, 2 GiB - 1 is the most
	MaxChunkBytes int64
	// unpacked chunks, with Query.Chunks also their stored data, that one Cursor keeps beside the current
	// one; zero means 128 MiB
	CacheBytes int64
	// read any version 2.x as if it were 2.0
	FutureVersion bool
	// refuse a bag without a good index instead of reading it from front to back
	IndexOnly bool
	// Cache, if not nil, keeps chunks and messages for readers that seek back and forth. Several
	// Readers may share one. Query.Reuse is then of no effect.
	Cache *Cache
	// Interrupted, if not nil, is asked before each read, and while a chunk is unpacked or searched,
	// every few MiB. An error that it returns ends that, and is returned. Goroutines may call it at the
	// same time.
	Interrupted func() error
	// KeepForeign gives out also the connections and messages of an MCAP file that are not those of
	// ROS 1, but for example cdr of ROS 2. Else the damage has a rosbag.EncodingError for each. See
	// rosbag.KeyMCAPEncoding for what their connection headers hold.
	KeepForeign bool
	// UnwrapKey, if not nil, is asked for the AES key of an encrypted bag when that is opened.
	// The key that it returns is overwritten. Without it encrypted bags are refused.
	UnwrapKey func(rosbag.Encryption) (key []byte, err error)
}

func (o ReaderOptions) table() table.Options {
	t := table.Options{
		MaxChunkBytes: o.MaxChunkBytes, CacheBytes: o.CacheBytes, FutureVersion: o.FutureVersion,
		IndexOnly:   o.IndexOnly,
		Interrupted: o.Interrupted, KeepForeign: o.KeepForeign, UnwrapKey: o.UnwrapKey,
	}
	if o.Cache != nil {
		t.Cache = o.Cache.c
	}
	return t
}

// Cache keeps data that takes long to unpack, for callers that seek back and forth in
// bags: chunks compressed with bzip2, of which a core unpacks 40 to 100 MiB/s, and the
// messages that Latest has found. It is safe for concurrent use.
type Cache struct{ c *table.Cache }

// NewCache returns a Cache for so many bytes of chunks, and of messages.
func NewCache(chunks, frames int64) *Cache { return &Cache{table.NewCache(chunks, frames)} }

// Prefetcher is an io.ReaderAt on which each read costs a request, such as an object in a store.
// A Reader announces to it what comes next, so that requests are large and overlap.
type Prefetcher interface {
	io.ReaderAt
	// Prefetch begins to read n bytes at off, or as many of them as it has room for, and does
	// not wait for them.
	Prefetch(off, n int64)
}
