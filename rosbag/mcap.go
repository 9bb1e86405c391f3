package rosbag

// MCAPInfo is what an MCAP file has beside messages. All texts are untrusted.
type MCAPInfo struct {
	Profile, Library string
	// Attachments and metadata records, in file order. A file that was opened by its summary may
	// have more of them, if the summary does not list all.
	Attachments []MCAPExtra
	Metadata    []MCAPExtra
}

// MCAPExtra is an attachment or a metadata record.
type MCAPExtra struct {
	Name  string
	Type  string // media type of an attachment
	Bytes int64  // of its data; of a metadata record, of its content
}
