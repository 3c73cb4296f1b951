// Stops an old Node with a word, before it stops itself in the middle of an experiment. Import it first.

const NEEDED_MAJOR = 24

if (Number(process.versions.node.split('.', 1)[0]) < NEEDED_MAJOR) {
  console.error(
    `Node ${process.versions.node} is too old, expected ${NEEDED_MAJOR} or newer; inside a clone, npm start and npx speedproof bring their own`,
  )
  process.exit(2)
}
