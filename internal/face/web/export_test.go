package web

// Limits and the way to serve on any listener, for tests with fake time.
const (
	MaxConnections     = maxConnections
	AddressConnections = addressConnections
	MaxPendingBytes    = maxPendingBytes
	EvictableAfter     = evictableAfter
	MaxWatchers        = maxWatchers
	EventTime          = eventTimeout
	ShutdownTime       = shutdownTimeout
)

// ServeOn is Serve on a listener that a test has made.
var ServeOn = serve

// AddressOf is whom a connection is counted for.
var AddressOf = addressOf
