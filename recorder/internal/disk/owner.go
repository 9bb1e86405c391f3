package disk

// Writers says whether a process has a file open for writing.
type Writers int

// What WritersOf answers.
const (
	WritersUnknown Writers = iota // the file system does not tell
	WritersNone
	WritersSome
)
