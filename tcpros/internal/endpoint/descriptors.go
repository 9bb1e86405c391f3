package endpoint

// Links leave a quarter of the descriptors to the rest of the process, which has bags to open and calls to make: at
// least fewestFree, or half of a small limit, and at most mostFree.
const (
	fewestFree = 96
	mostFree   = 4096
)

// MaxLinks returns how many links the limit of open files allows this process; zero if there is no limit. Each
// link has one descriptor.
func MaxLinks() int { return linksOf(openFiles()) }

// linksOf returns how many links a limit of open files allows.
func linksOf(files int) int {
	if files == 0 {
		return 0
	}
	free := min(max(files/4, fewestFree), mostFree)
	return max(files-min(free, files/2), 1)
}
