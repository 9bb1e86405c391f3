package rosbag

// MCAPInfo is what an MCAP file has beside messages. All texts are untrusted.
type MCAPInfo struct {
	Profile, Library string
	// Attachments and metadata records, in file order. A file that was opened by its summary may
	// have more of them, if the summary does not list all.
	Attachments []MCAPExtra
	Metadata    []MCAPExtra
	// Stated is what the statistics of a good summary count; nil without them.
	Stated *MCAPCounts
}

// MCAPCounts are the numbers of messages in an MCAP file as its writer has counted them, of any encoding.
type MCAPCounts struct {
	Messages uint64
	// Channels has the messages of each channel, by its id, which is that of its connection; nil if the
	// writer has not counted them.
	Channels map[ConnID]uint64
}

// MCAPExtra is an attachment or a metadata record.
type MCAPExtra struct {
	Name  string
	Type  string // media type of an attachment
	Bytes int64  // of its data; of a metadata record, of its content
}
