package runnertest

// PythonTasks are six tasks like those of Tasks, whose repositories are of Python and whose
// tests are run by unittest: their instances need python3 as well.
func PythonTasks() []Task {
	tasks := []Task{
		{
			ID: "tiny__mean-1", Problem: "mean of no numbers raises ZeroDivisionError; it should be 0",
			Lib: "def mean(numbers):\n    return sum(numbers) / len(numbers)\n",
			Old: "len(numbers)", New: "max(len(numbers), 1)", Solved: true,
			Kept: "self.assertEqual(mean([1, 2, 3]), 2)", Test: "self.assertEqual(mean([]), 0)",
		},
		{
			ID: "tiny__slug-2", Problem: "slug leaves two dashes where a title has two spaces",
			Lib: "def slug(title):\n    return title.strip().lower().replace(\" \", \"-\")\n",
			Old: "title.strip().lower().replace(\" \", \"-\")", New: "\"-\".join(title.lower().split())", Solved: true,
			Kept: "self.assertEqual(slug(\" A title \"), \"a-title\")", Test: "self.assertEqual(slug(\"A  title\"), \"a-title\")",
		},
		{
			ID: "tiny__seen-3", Problem: "collect remembers the items of earlier calls",
			Lib: "def collect(item, into=[]):\n    into.append(item)\n    return into\n",
			Old: "into=[]):\n    into.append", New: "into=None):\n    into = [] if into is None else into\n    into.append", Solved: true,
			Kept: "self.assertEqual(collect(2, [1]), [1, 2])", Test: "collect(1)\nself.assertEqual(collect(2), [2])",
		},
		{
			ID: "tiny__umlaut-4", Problem: "encode refuses \"Grüße\" with UnicodeEncodeError",
			Lib: "def encode(text):\n    return text.encode(\"ascii\")\n",
			Old: "\"ascii\"", New: "\"utf-8\"", Solved: true,
			Kept: "self.assertEqual(encode(\"a\"), b\"a\")", Test: "self.assertEqual(encode(\"Grüße\").decode(\"utf-8\"), \"Grüße\")",
		},
		{
			ID: "tiny__leap-5", Problem: "1900 is no leap year, 2000 is one",
			Lib: "def leap(year):\n    return year % 4 == 0\n",
			Old: "year % 4 == 0", New: "year % 4 == 0 and year % 100 != 0",
			Kept: "self.assertTrue(leap(1996))", Test: "self.assertFalse(leap(1900))\nself.assertTrue(leap(2000))",
		},
		{
			ID: "tiny__chunks-6", Problem: "chunks loses the last chunk when it is short",
			Lib: "def chunks(items, n):\n    return [items[i * n:(i + 1) * n] for i in range(len(items) // n)]\n",
			Old: "range(len(items) // n)", New: "range(len(items) // n + 1)",
			Kept: "self.assertIn([1, 2], chunks([1, 2, 3, 4], 2))", Test: "self.assertEqual(chunks([1, 2, 3], 2), [[1, 2], [3]])\nself.assertEqual(chunks([1, 2], 2), [[1, 2]])",
		},
	}
	for i := range tasks {
		tasks[i].Python = true
	}
	return tasks
}
