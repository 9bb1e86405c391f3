package mcap

// File is what is known of a file besides its chunks.
type File struct {
	Header
	Channels    Channels
	Attachments []Extra // in file order, as far as they are known
	Metadata    []Extra // likewise
}
