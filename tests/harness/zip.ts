// Makes and opens zip archives in memory.
import { crc32, deflateRawSync, inflateRawSync } from 'node:zlib'

const END_OF_DIRECTORY = 0x06054b50
const DIRECTORY_ENTRY_BYTES = 46
const LOCAL_HEADER_BYTES = 30

export interface ZipEntry {
  /** Written as it is: a hostile one may leave the folder. */
  name: string
  content: Buffer | string
  /** What the archive says, where that is not the truth. */
  announcedBytes?: number
}

/** Several entries may have one name. */
export function zip(entries: readonly ZipEntry[]): Buffer {
  const locals: Buffer[] = []
  const directory: Buffer[] = []
  let offset = 0
  for (const { name, content, announcedBytes } of entries) {
    const bytes = Buffer.from(content)
    const packed = deflateRawSync(bytes)
    const nameBytes = Buffer.from(name)
    const common = Buffer.alloc(26)
    common.writeUInt16LE(20, 0)
    common.writeUInt16LE(8, 4)
    common.writeUInt32LE(crc32(bytes), 10)
    common.writeUInt32LE(packed.length, 14)
    common.writeUInt32LE(announcedBytes ?? bytes.length, 18)
    common.writeUInt16LE(nameBytes.length, 22)
    const place = Buffer.alloc(14)
    place.writeUInt32LE(offset, 10)
    const local = Buffer.concat([Buffer.from('PK\x03\x04', 'latin1'), common, nameBytes, packed])
    directory.push(Buffer.from('PK\x01\x02\x14\x00', 'latin1'), common, place, nameBytes)
    locals.push(local)
    offset += local.length
  }
  const central = Buffer.concat(directory)
  const end = Buffer.alloc(22)
  end.write('PK\x05\x06', 0, 'latin1')
  end.writeUInt16LE(entries.length, 8)
  end.writeUInt16LE(entries.length, 10)
  end.writeUInt32LE(central.length, 12)
  end.writeUInt32LE(offset, 16)
  return Buffer.concat([...locals, central, end])
}

/** Contents by path. */
export function unzip(archive: Buffer): Record<string, Buffer> {
  const end = archive.lastIndexOf(Buffer.from('PK\x05\x06', 'latin1'))
  if (end < 0 || archive.readUInt32LE(end) !== END_OF_DIRECTORY) throw new Error('not a zip archive')
  const files: Record<string, Buffer> = {}
  let at = archive.readUInt32LE(end + 16)
  for (let left = archive.readUInt16LE(end + 10); left > 0; left--) {
    const method = archive.readUInt16LE(at + 10)
    const packedBytes = archive.readUInt32LE(at + 20)
    const nameBytes = archive.readUInt16LE(at + 28)
    const start = contentStart(archive, archive.readUInt32LE(at + 42))
    const packed = archive.subarray(start, start + packedBytes)
    const name = archive.toString('utf8', at + DIRECTORY_ENTRY_BYTES, at + DIRECTORY_ENTRY_BYTES + nameBytes)
    files[name] = method === 0 ? packed : inflateRawSync(packed)
    at += DIRECTORY_ENTRY_BYTES + nameBytes + archive.readUInt16LE(at + 30) + archive.readUInt16LE(at + 32)
  }
  return files
}

function contentStart(archive: Buffer, header: number): number {
  return header + LOCAL_HEADER_BYTES + archive.readUInt16LE(header + 26) + archive.readUInt16LE(header + 28)
}
