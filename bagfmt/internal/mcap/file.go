package mcap

// File is what is known of a file besides its chunks.
type File struct {
	Info
	Channels Channels
	// Stated is the number of messages that the statistics of a good summary know of, 0 without them.
	Stated uint64
}

// Info is what a file has beside messages. All texts are untrusted.
type Info struct {
	Header
	// Attachments and metadata records, in file order. A file that was opened by its summary may
	// have more of them, if that does not tell of all.
	Attachments []Extra
	Metadata    []Extra
}
