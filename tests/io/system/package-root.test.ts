import { execFileSync } from 'node:child_process'
import { cp, mkdir, readFile, writeFile } from 'node:fs/promises'
import { stripTypeScriptTypes } from 'node:module'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { packageRoot } from '../../../src/io/system/package-root.ts'
import { aFolder, ROOT } from '../../fixtures/processes/launching.ts'

test('is the repository when run from src', () => {
  expect(packageRoot()).toBe(ROOT)
})

test('is the folder above lib when compiled, and above dist when bundled', async () => {
  const folder = await aFolder()
  const source = await readFile(join(ROOT, 'src', 'io', 'system', 'package-root.ts'), 'utf8')
  await mkdir(join(folder, 'lib', 'io', 'system'), { recursive: true })
  await writeFile(join(folder, 'package.json'), '{"type": "module"}')
  await writeFile(join(folder, 'lib', 'io', 'system', 'package-root.js'), stripTypeScriptTypes(source))
  await writeFile(
    join(folder, 'lib', 'index.js'),
    "import { packageRoot } from './io/system/package-root.js'\nconsole.log(packageRoot())\n",
  )
  const ncc = join(ROOT, 'node_modules', '.bin', 'ncc')
  execFileSync(ncc, ['build', 'lib/index.js', '-C', '-o', 'dist'], { cwd: folder, stdio: 'pipe' })

  // Somewhere else than it was built: the runner checks the action out where it likes.
  const checkout = await aFolder()
  await cp(folder, checkout, { recursive: true })
  await writeFile(join(checkout, 'action.yml'), '')
  for (const entry of ['lib/index.js', 'dist/index.js']) {
    const found = execFileSync(process.execPath, [join(checkout, entry)], { encoding: 'utf8' })
    expect(found).toBe(`${checkout}\n`)
  }
})

test('says where it looked when there is no action.yml', () => {
  expect(() => packageRoot('/proc/self')).toThrow('no action.yml in /proc/self or any folder above it')
})
