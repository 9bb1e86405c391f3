package disk

// Writers says whether a process has a file open for writing.
type Writers int

// The results of WritersOf.
const (
	WritersUnknown Writers = iota // the system or the file system does not report it
	WritersNone
	WritersSome
)
